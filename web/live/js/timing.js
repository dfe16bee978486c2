// When things happen.

export function debounced(task, ms) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(task, ms);
  };
}

// Runs a task that takes time; asked for meanwhile, it runs once more after that.
export function oneAtATime(task) {
  let busy = false, again = false;
  return async () => {
    again = true;
    if (busy) return;
    busy = true;
    while (again) {
      again = false;
      await task();
    }
    busy = false;
  };
}
