/**
 * The environment and the globals of a process that several test files share. Tests change the environment, and
 * libraries replace globals such as `Response`. A later file must not find that.
 */
const env = { ...process.env };
const globals = new Map<string, PropertyDescriptor | undefined>();
keepNew();

/** Undoes changes of the environment and of existing globals. New globals stay: the loaded modules need them. */
export function restoreProcess(): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (process.env[name] !== value) process.env[name] = value;
  for (const [name, kept] of globals)
    if (kept?.configurable === true) Object.defineProperty(globalThis, name, kept);
  keepNew();
}

function keepNew(): void {
  for (const name of Object.getOwnPropertyNames(globalThis))
    // Those of Vitest change with each file.
    if (!name.startsWith('__vitest') && !globals.has(name))
      globals.set(name, Object.getOwnPropertyDescriptor(globalThis, name));
}
