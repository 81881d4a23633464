/** Runs the command line in this process, with a person at the terminal if an answer is given. */
import { readMeantOptions } from '../packages/cli/src/meant-options.ts';
import { readVersion, explain, runCommand } from '../packages/cli/src/program.ts';
import type { Context } from '../packages/cli/src/command.ts';
import type { Terminal } from '../packages/cli/src/terminal.ts';
import { openLedger } from '../packages/quittance/src/store/open-ledger.ts';
import type { Ran } from './run-cli.ts';

export type Sitting = {
  readonly ledger: string;
  readonly columns?: number;
  /** The person's answer to what is shown. Without it there is no terminal. */
  readonly answer?: (shown: string, question: string) => boolean;
  /** A token, as from QUITTANCE_TOKEN. */
  readonly token?: string;
};

export async function runInProcess(
  args: readonly string[],
  { ledger: path, columns = 100, answer, token }: Sitting,
): Promise<Ran> {
  const [out, err] = [createPaper(columns), createPaper(columns)];
  const context: Context = {
    out: out.terminal,
    err: err.terminal,
    signal: new AbortController().signal,
    now: () => Date.now(),
    version: readVersion(),
    ask: answer && ((question) => Promise.resolve(answer(out.text(), question))),
    person: answer && {
      screen: out.terminal,
      // Types the word that the prompt names, or something else.
      readLine: (prompt) =>
        Promise.resolve(answer(out.text(), prompt) ? /Type (\S+) to confirm/.exec(prompt)?.[1] : 'no'),
    },
    ledgerUrl: () => path,
    userName: 'ada',
    identity: { kind: 'os_user', user: 'ada', uid: 1000 },
    env: token === undefined ? {} : { QUITTANCE_TOKEN: token },
    startProgress: () => ({ step: () => undefined, done: () => undefined }),
    async withLedger(given, work, access = 'look') {
      const ledger = await openLedger(path, { readOnly: access === 'look' });
      try {
        return await work(ledger, await readMeantOptions(ledger, given, context.signal));
      } finally {
        await ledger.close();
      }
    },
  };
  const code = await runCommand(args, context).catch((error: unknown) => explain(error, err.terminal));
  return { code, out: out.text(), err: err.text() };
}

function createPaper(columns: number): { readonly terminal: Terminal; readonly text: () => string } {
  let text = '';
  const write = (more: string): Promise<void> => {
    text += more;
    return Promise.resolve();
  };
  const print = (line: string): Promise<void> => write(`${line}\n`);
  return {
    terminal: {
      isTerminal: false,
      isRead: () => true,
      width: columns,
      textWidth: columns,
      paint: (_, painted) => painted,
      write,
      print,
      say: print,
    },
    text: () => text,
  };
}
