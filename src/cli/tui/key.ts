/** Keys that a terminal in raw mode sends. */
export type Key =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'enter' | 'escape' | 'backspace' | 'tab' | 'stop' }
  | { readonly type: 'up' | 'down' | 'page-up' | 'page-down' | 'home' | 'end' };

const sequences: Readonly<Record<string, Key['type']>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u001b': 'escape',
  '\u0003': 'stop',
  '\u0004': 'stop',
  '\u001b[A': 'up',
  '\u001b[B': 'down',
  '\u001bOA': 'up',
  '\u001bOB': 'down',
  '\u001b[5~': 'page-up',
  '\u001b[6~': 'page-down',
  '\u001b[H': 'home',
  '\u001b[F': 'end',
  '\u001b[1~': 'home',
  '\u001b[4~': 'end',
};

/**
 * The key of one chunk of input. A chunk with several characters is pasted text: it is one text, so that no pasted
 * character acts as a key. Unknown sequences are undefined.
 */
export function readKey(chunk: string): Key | undefined {
  const known = sequences[chunk];
  if (known !== undefined && known !== 'text') return { type: known };
  // Ctrl-C must work, whatever else was typed in the same moment.
  if (chunk.includes('\u0003')) return { type: 'stop' };
  return chunk === '' || /\p{Cc}/u.test(chunk) ? undefined : { type: 'text', text: chunk };
}
