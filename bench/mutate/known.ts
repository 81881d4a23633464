/**
 * Mutations that no test kills, each with the reason. `equivalent` ones have no observable effect. `accepted` ones
 * do, and count as survivors. The key names the declaration and the change, not the line, so an entry survives edits
 * elsewhere in the file.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Known = {
  readonly key: string;
  readonly as: 'equivalent' | 'accepted';
  readonly reason: string;
};

export const readKnown = (): Known[] =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'known.json'), 'utf8')) as Known[];
