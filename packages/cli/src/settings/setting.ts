/**
 * A setting of a command: an option on the command line, an environment variable and a key of the configuration file.
 * The three are derived from one table, so an option added there exists in all three places.
 */
import type { JsonObject } from 'quittance/internal/base/json';
import type { Given, Option } from '../command.ts';

export type Setting = Option & {
  /** Place in the configuration file: `port`, or `sign_in.issuer` in a section. Default: the name with `_` for `-`. */
  readonly key?: string;
  /**
   * What the file has there. Default: text. `span` is a time span such as `30s`. `json` is an object or a list, checked by
   * `schema`; on the command line and in the environment it is JSON text.
   */
  readonly kind?: 'integer' | 'span' | 'json';
  /** JSON Schema of the value, for the kind `json`. */
  readonly schema?: JsonObject;
  /** It gives rights or removes evidence, so the command that takes it needs the proof of an admin. See `proof.ts`. */
  readonly needsProof?: true;
};

export type Settings = { readonly [name: string]: Setting };

/** `public-url` → `public_url`. */
export const settingKey = (name: string, { key }: Setting): string => key ?? name.replaceAll('-', '_');

/** `public-url` → `QUITTANCE_PUBLIC_URL`. */
export const settingVariable = (name: string): string =>
  `QUITTANCE_${name.replaceAll('-', '_').toUpperCase()}`;

/** The settings that need proof and that were given: by an option, a variable or the file. */
export const givenWithProof = (given: Given, settings: Settings): readonly string[] =>
  Object.keys(settings).filter((name) => settings[name]?.needsProof === true && given.has(name));

/** A section of the file and its keys; the section `''` is the top of the file. Keys map to names of settings. */
export function settingSections(settings: Settings): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const sections = new Map<string, Map<string, string>>([['', new Map()]]);
  for (const [name, setting] of Object.entries(settings)) {
    const [first = '', second] = settingKey(name, setting).split('.');
    const [section, key] = second === undefined ? ['', first] : [first, second];
    const keys = sections.get(section) ?? new Map<string, string>();
    sections.set(section, keys.set(key, name));
  }
  return sections;
}

export const spanPattern: RegExp = /^\d+(?:\.\d+)?\s*(?:s|m|min|h|d|w)$/;
