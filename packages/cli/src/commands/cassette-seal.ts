import { rename, rm, writeFile } from 'node:fs/promises';
import { sealCassette } from 'quittance/internal/replay/write-cassette';
import { cassetteFile, orExplain, readTextFile } from '../cassette-file.ts';
import { refuseOwnFile } from '../check-output-file.ts';
import type { CliCommand } from '../command.ts';
import { makes } from '../command.ts';
import { exitCodes } from '../exit-code.ts';

export const cassetteSealCommand: CliCommand = {
  name: 'cassette seal',
  summary: 'Accept manual changes to a cassette',
  takes: '<file>',
  most: 1,
  about: [
    'A cassette whose content differs from its seal is refused, so that an unintended change is never replayed. This command writes the cassette again with the digest of its current content. The file must still be a valid cassette.',
  ],
  options: {},
  examples: [['quittance cassette seal ticket-42.json', 'after an intended edit']],
  effect: makes,
  run: async (given, context) => {
    const { err } = context;
    const path = cassetteFile(given, 'seal');
    const before = await readTextFile(path);
    const sealed = orExplain(path, sealCassette, before);
    if (sealed === before) {
      await err.say(`${path} matches its seal. Nothing to do.`);
      return exitCodes.good;
    }
    refuseOwnFile(path, given, context);
    // Made anew: the draft could be a link to another file.
    await rm(`${path}.part`, { force: true });
    await writeFile(`${path}.part`, sealed, { flush: true, flag: 'wx' });
    await rename(`${path}.part`, path);
    await err.say(`Sealed ${path} with its current content.`);
    return exitCodes.good;
  },
};
