/**
 * The log of the server, on standard error: sentences for people, or one JSON object per line for programs. Passwords in
 * URLs and texts that look like secrets are masked in both.
 */
import { hideUrlPasswords } from '../../store/ledger-url.ts';
import { safeJson, terminalText } from '../terminal-text.ts';
import type { Terminal } from '../terminal.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type LogFacts = Readonly<Record<string, string | number | boolean | undefined>>;

export type ServerLog = {
  readonly format: 'text' | 'json';
  /** `event` is a stable word for programs, such as `server.ready`. */
  readonly write: (level: LogLevel, event: string, message: string, facts?: LogFacts) => Promise<void>;
};

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

export function createServerLog(
  err: Terminal,
  {
    format,
    level,
    now,
  }: { readonly format: 'text' | 'json'; readonly level: LogLevel; readonly now: () => number },
): ServerLog {
  const least = levels.indexOf(level);
  return {
    format,
    async write(of, event, message, facts = {}) {
      if (levels.indexOf(of) < least) return;
      const lines = message.split('\n').map((each) => safe(each));
      if (format === 'text') {
        const [first = '', ...rest] = lines;
        const tail = of === 'debug' ? ` ${JSON.stringify(safeFacts(facts))}` : '';
        await err.say(`${first}${tail}`);
        for (const each of rest) await err.print(each);
        return;
      }
      const time = new Date(now()).toISOString();
      await err.print(safeJson({ time, level: of, event, message: lines.join(' '), ...safeFacts(facts) }));
    },
  };
}

const safe = (text: string): string => terminalText(hideUrlPasswords(text));

const safeFacts = (facts: LogFacts): LogFacts =>
  Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, typeof value === 'string' ? safe(value) : value]),
  );
