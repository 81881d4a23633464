/**
 * Variables in configuration texts: `${VAR}` and `${VAR:-default}` of Claude Code, `${env:VAR}`, `${input:ID}`,
 * `${workspaceFolder}` and `${userHome}` of VS Code and Cursor.
 *
 * The value of a variable is never expanded again, so a variable cannot inject another one.
 */
import { basename, sep } from 'node:path';

export type Variables = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Folder of the project that the configuration belongs to. */
  readonly workspaceFolder: string;
  /** Answers to the `inputs` of VS Code, by id. */
  readonly inputs: Readonly<Record<string, string>>;
};

export type Expanded =
  | { readonly ok: true; readonly text: string }
  /** Why the text cannot be used, and what to do. Without values. */
  | { readonly ok: false; readonly found: string; readonly remedy: string };

const variable = /\$\{([^{}]*)\}/g;

export function expandVariables(text: string, variables: Variables): Expanded {
  if (/\$\{[^}]*\$\{/.test(text))
    return {
      ok: false,
      found: 'has a variable within a variable.',
      remedy: 'Use one variable without another in its default.',
    };
  let problem: Expanded | undefined;
  const expanded = text.replaceAll(variable, (_, inner: string) => {
    const value = readVariable(inner, variables);
    if (typeof value === 'string') return value;
    problem ??= value;
    return '';
  });
  return problem ?? { ok: true, text: expanded };
}

function readVariable(inner: string, { env, home, workspaceFolder, inputs }: Variables): string | Expanded {
  switch (inner) {
    case 'workspaceFolder':
    case 'cwd':
      return workspaceFolder;
    case 'workspaceFolderBasename':
      return basename(workspaceFolder);
    case 'userHome':
      return home;
    case 'pathSeparator':
    case '/':
      return sep;
  }
  const input = /^input:(.+)$/s.exec(inner)?.[1];
  if (input !== undefined)
    return Object.hasOwn(inputs, input)
      ? (inputs[input] ?? '')
      : {
          ok: false,
          found: `needs the input ${JSON.stringify(input)}, which has no value.`,
          remedy: `Set the variable ${inputVariable(input)} for this program.`,
        };
  const [, , variableName, fallback] = /^(env:)?([A-Za-z_]\w*)(?::-(.*))?$/s.exec(inner) ?? [];
  if (variableName === undefined)
    return {
      ok: false,
      found: `has the unknown variable \${${inner.slice(0, 60)}}.`,
      remedy: 'Known: ${VAR}, ${VAR:-default}, ${env:VAR}, ${input:ID}, ${workspaceFolder}, ${userHome}.',
    };
  const value = Object.hasOwn(env, variableName) ? env[variableName] : undefined;
  if (value !== undefined && (value !== '' || fallback === undefined)) return value;
  return (
    fallback ?? {
      ok: false,
      found: `needs the environment variable ${variableName}, which is not set.`,
      remedy: `Set ${variableName}, or write a default.`,
    }
  );
}

/** The environment variable that answers an input of VS Code, e.g. QUITTANCE_INPUT_API_KEY for `api-key`. */
export const inputVariable = (id: string): string =>
  `QUITTANCE_INPUT_${id.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
