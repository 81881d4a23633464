import { describeUnknownName } from '../../base/nearest.ts';
import type { Context } from '../command.ts';
import { UsageError } from '../usage-error.ts';
import type { Choice } from './project-choices.ts';

/**
 * Asks for one of the listed answers, by number or name. The first one is the default. An unknown answer is asked for
 * again. Undefined if the person stopped.
 */
export async function askChoice<Name extends string>(
  title: string,
  choices: Readonly<Record<Name, Choice>>,
  { out, readLine }: Pick<Context, 'out' | 'readLine'>,
): Promise<Name | undefined> {
  if (readLine === undefined)
    throw new UsageError(
      'There is no terminal to ask the questions of init. Answer them with options, or accept the defaults.',
      [
        'quittance init my-agent --yes',
        'quittance init my-agent --framework ai-sdk --store sqlite --rules ask',
      ],
    );
  const names = Object.keys(choices) as Name[]; // the keys of a table typed by its keys
  await out.print(out.paint('bold', title));
  for (const [index, name] of names.entries())
    await out.print(`  ${String(index + 1).padStart(2)}  ${name.padEnd(14)} ${choices[name].label}`);
  for (;;) {
    const answer = await readLine(`Number or name [${names[0]}]: `);
    if (answer === undefined) return undefined;
    const typed = answer.trim();
    const found =
      typed === '' ? names[0] : (names[Number(typed) - 1] ?? names.find((name) => name === typed));
    if (found !== undefined) return found;
    await out.say(describeUnknownName('answer', typed, names));
  }
}
