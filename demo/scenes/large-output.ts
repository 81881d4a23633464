import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scene } from '../stage.ts';

export const largeOutput: Scene = {
  title: 'A large output becomes an artifact, is read in chunks, and is passed on as a whole.',
  async play({ ask, check, openTurn, world }) {
    const turn = openTurn();
    const sales = await ask(
      turn,
      'get_sales',
      {},
      { ends: 'artifact', happened: 'too long for a prompt: an artifact' },
    );
    if (sales.type !== 'ToolArtifactReference') return;
    const { artifactId, sizeBytes } = sales;
    check('the artifact should be larger than a prompt should be.', sizeBytes > 20_000);
    await ask(
      turn,
      'read_artifact',
      { search: '2665', artifactId },
      { ends: 'result', happened: 'found one of its 600 orders' },
    );
    await ask(
      turn,
      'write_file',
      { path: 'sales.json', text: { $artifact: artifactId, as: 'text' } },
      { ends: 'result', happened: 'another tool received all of it' },
    );
    const { size } = await stat(join(world.folder, 'sales.json'));
    check('the file should contain the whole artifact.', size === sizeBytes);
  },
};
