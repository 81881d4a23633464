import { rename, writeFile } from 'node:fs/promises';
import { sealCassette } from '../../replay/write-cassette.ts';
import { cassetteFile, orExplain, readTextFile } from '../cassette-file.ts';
import type { CliCommand } from '../command.ts';
import { exitCodes } from '../exit-code.ts';

export const cassetteSealCommand: CliCommand = {
  name: 'cassette seal',
  summary: 'Accept what was changed in a cassette by hand',
  takes: '<file>',
  most: 1,
  about: [
    'A cassette that says something else than when it was sealed is refused, so that nobody plays a change that slipped in. This writes it again with the digest of what it says now. It must still be a cassette.',
  ],
  options: {},
  examples: [['quittance cassette seal ticket-42.json', 'after an edit that was meant']],
  run: async (given, { err }) => {
    const path = cassetteFile(given, 'seal');
    const before = await readTextFile(path);
    const sealed = orExplain(path, sealCassette, before);
    if (sealed === before) {
      await err.say(`${path} is as it was sealed.`);
      return exitCodes.good;
    }
    await writeFile(`${path}.part`, sealed, { flush: true });
    await rename(`${path}.part`, path);
    await err.say(`${path} is sealed as it is now.`);
    return exitCodes.good;
  },
};
