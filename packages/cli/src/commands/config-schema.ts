import type { CliCommand } from '../command.ts';
import { reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { serveSettings } from '../settings/serve-settings.ts';
import type { JsonObject } from 'quittance/internal/base/json';
import type { Setting, Settings } from '../settings/setting.ts';
import { settingSections, settingVariable, spanPattern } from '../settings/setting.ts';

export const configSchemaCommand: CliCommand = {
  name: 'config schema',
  summary: 'Print the JSON Schema of the configuration file, for editors',
  about: [
    'The package quittance contains the same schema: quittance/config.schema.json. Most editors load it if the first line of the file is `# yaml-language-server: $schema=./node_modules/quittance/schema/config.schema.json`.',
  ],
  options: {},
  examples: [['quittance config schema > config.schema.json', 'save it next to the configuration']],
  effect: reads,
  run: async (_given, { out }) => {
    await out.print(JSON.stringify(createConfigSchema(serveSettings), undefined, 2));
    return exitCodes.good;
  },
};

/** The JSON Schema of the configuration file, for editors. Derived from the table of settings. */

export function createConfigSchema(settings: Settings): JsonObject {
  const sections = settingSections(settings);
  const properties: Record<string, JsonObject> = {};
  for (const [section, keys] of sections) {
    const members = Object.fromEntries(
      [...keys].map(([key, name]) => [key, valueSchema(name, settings[name] as Setting)]), // the names come from the table
    );
    if (section === '') Object.assign(properties, members);
    else properties[section] = { type: 'object', additionalProperties: false, properties: members };
  }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of quittance serve',
    type: 'object',
    additionalProperties: false,
    properties,
  };
}

function valueSchema(name: string, setting: Setting): JsonObject {
  const description = `${setting.help}. Option --${name}, variable ${settingVariable(name)}.`;
  if (setting.kind === 'json') return { ...setting.schema, description };
  if (setting.value === undefined) return { type: 'boolean', description };
  const one = scalarSchema(setting);
  // A single value may stand for a list of one.
  return setting.multiple === true
    ? { description, anyOf: [one, { type: 'array', items: one }] }
    : { ...one, description };
}

function scalarSchema({ kind, choices }: Setting): JsonObject {
  if (kind === 'integer') return { type: 'integer', minimum: 0 };
  if (kind === 'span') return { type: 'string', pattern: spanPattern.source };
  if (choices !== undefined) return { enum: [...choices] };
  return { type: 'string', minLength: 1 };
}
