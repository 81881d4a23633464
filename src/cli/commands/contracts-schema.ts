import { createDocumentSchema } from '../../policy/read/document-schema.ts';
import type { CliCommand } from '../command.ts';
import { exitCodes } from '../exit-code.ts';

export const contractsSchemaCommand: CliCommand = {
  name: 'contracts schema',
  summary: 'Print the JSON Schema of contracts, for editors',
  about: [
    'The same schema is in the package, as quittance/contracts.schema.json. A first line of `# yaml-language-server: $schema=./node_modules/quittance/schema/contracts.schema.json` tells most editors about it.',
  ],
  options: {},
  examples: [['quittance contracts schema > contracts.schema.json', 'keep it beside the contracts']],
  run: async (_given, { out }) => {
    await out.print(JSON.stringify(createDocumentSchema(), undefined, 2));
    return exitCodes.good;
  },
};
