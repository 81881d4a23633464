import { options } from 'preact';

/**
 * Makes effects run right after the render that caused them. Preact's default waits for the next frame. Until then a key
 * press would reach the handlers of the state before, and could answer another question than the one on the screen.
 */
export function runEffectsAtOnce(): void {
  options.requestAnimationFrame = (flush) => queueMicrotask(flush);
}
