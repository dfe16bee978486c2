"""Commands on text: describe it, write it as files, cut it into token ids."""
