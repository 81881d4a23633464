/** Tells the frame that this page decided a question: the number of waiting questions is then read again. */
const name = 'quittance.decided';

export const tellDecided = (): boolean => window.dispatchEvent(new Event(name));

/** Returns the function that ends it. */
export function onDecided(listener: () => void): () => void {
  window.addEventListener(name, listener);
  return () => window.removeEventListener(name, listener);
}
