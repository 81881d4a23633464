/** Does a person use this page? The page also sends requests by itself, and those must not keep a sign-in alive. */

const usedForMs = 60_000;
const use = { lastMs: 0 };

/** Notes every act of the person from now on. */
export function watchUse(): void {
  for (const type of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'focus'])
    window.addEventListener(type, () => (use.lastMs = performance.now()), { capture: true, passive: true });
}

/** A page that was just opened is in use. */
export const isInUse = (): boolean => performance.now() - use.lastMs < usedForMs;
