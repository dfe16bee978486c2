"""The explorer: `views` has a folder for each page, `shared` what all of them use."""
