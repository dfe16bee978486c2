// What every page does to the browser's history, and to keys.
if (!window.explorerFramed) {
  window.explorerFramed = true;

  // Streamlit replaces the address for some widgets and adds an entry for every other write to it. Here the first
  // change of the address after a press or a key adds an entry, and all that follow from it change that entry.
  let acted = false;
  const { pushState, replaceState } = window.history;
  for (const kind of ["pointerdown", "keydown"])
    window.addEventListener(kind, (event) => { acted ||= event.isTrusted; }, true);
  window.addEventListener("popstate", () => { acted = false; }, true);
  window.history.pushState = window.history.replaceState = (state, unused, address) => {
    if (new URL(address ?? "", location.href).href === location.href) return;
    (acted ? pushState : replaceState).call(window.history, state, unused, address);
    acted = false;
  };

  // In a presentation the arrow keys and those of a clicker step through the story that is followed, where they reveal
  // what it says first, or else through the pages.
  const ways = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };
  const own =
    "input:not([type=checkbox]), textarea, iframe, [role=slider], [role=tab], [role=radio], [data-testid^=stBidi]";
  window.addEventListener("keydown", (event) => {
    const way = ways[event.key], all = (part) => [...document.querySelectorAll(part)];
    if (!way || event.target.closest?.(own) || !all(".st-key-present input:checked").length) return;
    event.preventDefault();
    const hidden = way > 0 && document.querySelector(".st-key-story details:not([open]) summary");
    if (hidden) return hidden.click();
    if (document.querySelector(".st-key-story"))
      return all(".st-key-story a.way").find((link) => link.text.includes(way > 0 ? "Next" : "Previous"))?.click();
    const pages = all("[data-testid=stTopNavLink]");
    pages[pages.findIndex((page) => page.hasAttribute("aria-current")) + way]?.click();
  });

  // Streamlit applies a text area on Ctrl+Enter alone. Here Enter does, and Shift+Enter begins a line.
  window.addEventListener("keydown", (event) => {
    const { key, target, shiftKey, ctrlKey, metaKey, isComposing } = event;
    const field = target.matches?.("[data-testid=stTextArea] textarea") && !target.closest(".st-key-lines");
    if (key !== "Enter" || shiftKey || ctrlKey || metaKey || isComposing || !field) return;
    event.preventDefault();
    target.dispatchEvent(new KeyboardEvent("keydown", { key, ctrlKey: true, bubbles: true }));
  });
}
