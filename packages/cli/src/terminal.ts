/** The output of a command: its width, its colors, and whether it is still read. */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { wrap } from './text-width.ts';

export type Style = Parameters<typeof styleText>[0];

/** The part of a stream that a terminal needs. */
export type Stream = Writable & { readonly isTTY?: boolean; readonly columns?: number };
/** The part of standard input that single keys are read from. */
export type KeyInput = NodeJS.ReadableStream & { setRawMode?(mode: boolean): unknown };
export type ScreenOutput = Stream & { readonly rows?: number };
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Terminal {
  readonly isTerminal: boolean;
  /** False once the reader has ended, as in `| head`. */
  readonly isRead: () => boolean;
  /** Width for tables, which are cut to it. Without a terminal nothing is cut, unless COLUMNS is set. */
  readonly width: number;
  /** Width for sentences, which wrap there. */
  readonly textWidth: number;
  readonly paint: (style: Style, text: string) => string;
  /** Writes a line. Resolves when there is room for more, so await it for many lines. */
  readonly print: (line: string) => Promise<void>;
  /** Writes a sentence; wrapped on a terminal, else on one line. */
  readonly say: (sentence: string) => Promise<void>;
  /** Writes text unchanged. */
  readonly write: (text: string) => Promise<void>;
}

export function createTerminal(stream: Stream, environment: Environment, signal: AbortSignal): Terminal {
  const isTerminal = stream.isTTY === true;
  const hasColors = isTerminal && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb';
  const asked = Number(environment['COLUMNS']);
  const found = isTerminal ? stream.columns || 80 : asked > 0 ? asked : undefined;
  const write = async (text: string): Promise<void> => {
    // The reader may have ended, as in `quittance calls | head`.
    if (stream.destroyed || stream.write(text) || signal.aborted) return;
    await once(stream, 'drain', { signal }).catch(() => undefined);
  };
  const textWidth = Math.min(Math.max(found ?? 100, 40), 110);
  return {
    isTerminal,
    isRead: () => !stream.destroyed,
    width: found === undefined ? Number.POSITIVE_INFINITY : Math.max(found, 40),
    textWidth,
    paint: (style, text) => (hasColors ? styleText(style, text, { validateStream: false }) : text),
    write,
    print: (line) => write(`${line}\n`),
    say: (sentence) => write(`${isTerminal ? wrap(sentence, textWidth).join('\n') : sentence}\n`),
  };
}
