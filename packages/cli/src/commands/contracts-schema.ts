import { createDocumentSchema } from 'quittance/internal/policy/read/document-schema';
import type { CliCommand } from '../command.ts';
import { reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';

export const contractsSchemaCommand: CliCommand = {
  name: 'contracts schema',
  summary: 'Print the JSON Schema of contracts, for editors',
  about: [
    'The package quittance contains the same schema: quittance/contracts.schema.json. Most editors load it if the first line of a document is `# yaml-language-server: $schema=./node_modules/quittance/schema/contracts.schema.json`.',
  ],
  options: {},
  examples: [['quittance contracts schema > contracts.schema.json', 'save it next to the contracts']],
  effect: reads,
  run: async (_given, { out }) => {
    await out.print(JSON.stringify(createDocumentSchema(), undefined, 2));
    return exitCodes.good;
  },
};
