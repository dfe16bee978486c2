"""The browser's history: one entry for each thing that a visitor did, and Back and Forward bring it back."""

from streamlit.runtime.scriptrunner import get_script_run_ctx

# Streamlit replaces the address for some widgets and adds an entry for every other write to it. Here the first change
# of the address after a press or a key adds an entry, and all that follow from it change that entry.
SCRIPT = """<script>
if (!window.entriesOfVisitor) {
  window.entriesOfVisitor = true;
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
}
</script>"""


def moved() -> bool:
    """Return whether this run follows Back or Forward: then the address decides every choice, as when a link opens."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation
