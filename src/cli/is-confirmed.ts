import type { Context, Given } from './command.ts';
import { UsageError } from './usage-error.ts';

/** Asks the person at the terminal before a command has an effect. Without a terminal, `--yes` must say so in advance. */
export async function isConfirmed(
  given: Given,
  { ask, out }: Context,
  {
    question,
    missing,
    line,
    refused,
  }: {
    readonly question: string;
    /** Why `--yes` is needed without a terminal. */
    readonly missing: string;
    /** A complete command. */
    readonly line: string;
    /** Printed after a no. */
    readonly refused: string;
  },
): Promise<boolean> {
  if (given.has('yes')) return true;
  if (ask === undefined || given.has('json'))
    throw new UsageError(`${missing}: --yes is missing.`, [`${line} --yes`]);
  const isYes = await ask(question);
  if (!isYes) await out.print(refused);
  return isYes;
}
