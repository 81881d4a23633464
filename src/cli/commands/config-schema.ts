import type { CliCommand } from '../command.ts';
import { reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { createConfigSchema } from '../settings/config-schema.ts';
import { serveSettings } from '../settings/serve-settings.ts';

export const configSchemaCommand: CliCommand = {
  name: 'config schema',
  summary: 'Print the JSON Schema of the configuration file, for editors',
  about: [
    'The package contains the same schema as quittance/config.schema.json. Most editors load it if the first line of the file is `# yaml-language-server: $schema=./node_modules/quittance/schema/config.schema.json`.',
  ],
  options: {},
  examples: [['quittance config schema > config.schema.json', 'save it next to the configuration']],
  effect: reads,
  run: async (_given, { out }) => {
    await out.print(JSON.stringify(createConfigSchema(serveSettings), undefined, 2));
    return exitCodes.good;
  },
};
