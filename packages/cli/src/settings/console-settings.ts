/** How the console presents the ledger: `console.name` and others in the configuration file. */
import type { JsonObject } from 'quittance/internal/base/json';
import type { ConsoleColor } from '@quittance/server/internal/http/api/console';
import type { ConsoleOptions, OtherConsoleOptions } from '@quittance/server/internal/http/console-options';
import { consoleColors } from '@quittance/server/internal/http/console-options';
import type { Given } from '../command.ts';
import type { Settings } from './setting.ts';

const othersSchema: JsonObject = {
  type: 'array',
  maxItems: 20,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'url'],
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 40 },
      url: { type: 'string', minLength: 1 },
      color: { enum: [...consoleColors] },
    },
  },
};

export const consoleSettings: Settings = {
  'console-name': {
    value: 'NAME',
    help: 'Name of this ledger on every page of the console, such as production',
    key: 'console.name',
  },
  'console-color': {
    value: 'COLOR',
    help: 'Color of this ledger in the console; default: gray',
    key: 'console.color',
    choices: consoleColors,
  },
  'console-currency': {
    value: 'CODE',
    help: 'Currency of costs in the console, such as EUR',
    key: 'console.currency',
  },
  'console-others': {
    value: 'JSON',
    help: 'Consoles of other ledgers to switch to: a list of name, url and color',
    key: 'console.others',
    kind: 'json',
    schema: othersSchema,
  },
};

export function readConsoleSettings(given: Given): ConsoleOptions {
  const [name, color, currency] = ['console-name', 'console-color', 'console-currency'].map((each) =>
    given.text(each),
  );
  const others = given.text('console-others');
  return {
    ...(name !== undefined && { name }),
    ...(color !== undefined && { color: color as ConsoleColor }), // one of the choices
    ...(currency !== undefined && { currency }),
    ...(others !== undefined && { others: JSON.parse(others) as OtherConsoleOptions[] }), // the schema accepted it
  };
}
