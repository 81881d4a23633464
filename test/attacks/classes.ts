/** Every family of attack classes, in the order of the table. */
import type { Family } from './attack-class.ts';
import { commandFamily } from './command-classes.ts';
import { knownFamilies } from './known-attacks.ts';
import { misreadFamily } from './misread-classes.ts';
import { ownFileFamily } from './own-file-classes.ts';
import { placeFamily } from './place-classes.ts';
import { secretFamily } from './secret-classes.ts';
import { tamperFamily } from './tamper-classes.ts';

export const families: readonly Family[] = [
  ...knownFamilies,
  commandFamily,
  misreadFamily,
  placeFamily,
  secretFamily,
  ownFileFamily,
  tamperFamily,
];
