/** Regular expressions that answer in time linear in their input, whatever the pattern. The one user of RE2JS. */
import { RE2JS } from 're2js';

export type LinearRegex = {
  readonly source: string;
  /** Whether the pattern occurs anywhere in the text. */
  readonly test: (text: string) => boolean;
  readonly replaceAll: (text: string, replacement: string) => string;
};

export type RegexReading =
  { readonly ok: true; readonly regex: LinearRegex } | { readonly ok: false; readonly problem: string };

export function parseRegex(pattern: string): RegexReading {
  try {
    const compiled = RE2JS.compile(pattern);
    return {
      ok: true,
      regex: {
        source: pattern,
        test: (text) => compiled.matcher(text).find(),
        replaceAll: (text, replacement) =>
          compiled.matcher(text).replaceAll(RE2JS.quoteReplacement(replacement)),
      },
    };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}
