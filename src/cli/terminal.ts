/** Where a command writes: how wide it is, whether it has colours, and whether anybody still reads. */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { wrap } from './text-width.ts';

export type Style = Parameters<typeof styleText>[0];

/** As much of a stream as a terminal is. */
export type Stream = Writable & { readonly isTTY?: boolean; readonly columns?: number };
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Terminal {
  readonly isTerminal: boolean;
  /** For tables, which are cut to it: the width of the terminal. Elsewhere nothing is cut, unless COLUMNS says so. */
  readonly width: number;
  /** For sentences, which are broken at it. */
  readonly textWidth: number;
  readonly paint: (style: Style, text: string) => string;
  /** Writes a line. Wait for it where there are many: it resolves when there is room for more. */
  readonly print: (line: string) => Promise<void>;
  /** Writes a sentence; on a terminal in lines of words, elsewhere in one. */
  readonly say: (sentence: string) => Promise<void>;
  /** Writes text as it is. */
  readonly write: (text: string) => Promise<void>;
}

export function createTerminal(stream: Stream, environment: Environment, signal: AbortSignal): Terminal {
  const isTerminal = stream.isTTY === true;
  const hasColours = isTerminal && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb';
  const asked = Number(environment['COLUMNS']);
  const found = isTerminal ? stream.columns || 80 : asked > 0 ? asked : undefined;
  const write = async (text: string): Promise<void> => {
    // Whoever read us, as in `quittance calls | head`, may have seen enough.
    if (stream.destroyed || stream.write(text) || signal.aborted) return;
    await once(stream, 'drain', { signal }).catch(() => undefined);
  };
  const textWidth = Math.min(Math.max(found ?? 100, 40), 110);
  return {
    isTerminal,
    width: found === undefined ? Number.POSITIVE_INFINITY : Math.max(found, 40),
    textWidth,
    paint: (style, text) => (hasColours ? styleText(style, text, { validateStream: false }) : text),
    write,
    print: (line) => write(`${line}\n`),
    say: (sentence) => write(`${isTerminal ? wrap(sentence, textWidth).join('\n') : sentence}\n`),
  };
}
