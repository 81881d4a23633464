/** How a console presents its ledger, so that production never looks like a test. */
import { checkKeys } from 'quittance/internal/base/check-keys';
import { QuittanceError } from 'quittance/internal/base/error';
import type { ConsoleColor, ConsoleView } from './api/console.ts';

export type ConsoleOptions = {
  /** The name of the ledger, on every page and in the title: `production`. */
  readonly name?: string;
  readonly color?: ConsoleColor;
  /** The currency of costs, as in ISO 4217: `EUR`. Without it, costs are plain numbers. */
  readonly currency?: string;
  /** The consoles of other ledgers, to switch to. Each has its own login. */
  readonly others?: readonly OtherConsoleOptions[];
};
export type OtherConsoleOptions = {
  readonly name: string;
  /** `https://quittance.example.org` */
  readonly url: string;
  readonly color?: ConsoleColor;
};

/** The default color is `gray`. */
export const consoleColors: readonly ConsoleColor[] = ['gray', 'red', 'orange', 'green', 'blue', 'purple'];

const longestName = 40;
const mostOthers = 20;

/** Throws `config.invalid` if an option is wrong. */
export function readConsoleOptions(options: ConsoleOptions = {}): ConsoleView {
  checkKeys('createHttpServer: console', options, ['name', 'color', 'currency', 'others']);
  const { name, color = 'gray', currency, others = [] } = options;
  if (name !== undefined) checkName(name);
  checkColor(color);
  if (currency !== undefined && !/^[A-Z]{3}$/.test(currency))
    refuse(`console.currency must be an ISO 4217 code such as EUR; found ${JSON.stringify(currency)}.`);
  if (others.length > mostOthers)
    refuse(`console.others may list ${mostOthers} consoles; found ${others.length}.`);
  return {
    name,
    color,
    currency,
    others: others.map((other) => {
      checkKeys('createHttpServer: console.others', other, ['name', 'url', 'color']);
      checkName(other.name);
      checkColor(other.color ?? 'gray');
      return { name: other.name, color: other.color ?? 'gray', url: readUrl(other.url) };
    }),
  };
}

function checkName(name: unknown): void {
  // Text of other directions and invisible characters could make one name look like another.
  if (typeof name === 'string' && /^[\p{L}\p{N}][\p{L}\p{N} ._-]*$/u.test(name) && name.length <= longestName)
    return;
  refuse(
    `The name of a console has 1 to ${longestName} letters, digits, spaces, dots, hyphens or underscores; found ${JSON.stringify(name)}.`,
  );
}

function checkColor(color: unknown): void {
  if (!consoleColors.some((each) => each === color))
    refuse(`The color of a console is one of ${consoleColors.join(', ')}; found ${JSON.stringify(color)}.`);
}

/** Pages link to it, so a script or a file is refused. */
function readUrl(url: string): string {
  const { protocol, href, username, password } = URL.parse(url) ?? {};
  if (href === undefined || !/^https?:$/.test(protocol ?? '') || username !== '' || password !== '')
    refuse(
      `The address of a console is a URL such as https://quittance.example.org; found ${JSON.stringify(url)}.`,
    );
  return href;
}

function refuse(message: string): never {
  throw new QuittanceError('config.invalid', message);
}
