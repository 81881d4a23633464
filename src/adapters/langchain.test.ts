import { describe, expect, test } from 'vitest';
import { governTools } from './langchain.ts';

const unsafe = (why: string) =>
  expect.objectContaining({
    code: 'adapter.unsafe',
    message: expect.stringContaining(why) as string,
  }) as Error;

/** Classes as a version of the framework might have them, as far as the adapter looks. */
describe('the self-test', () => {
  test('lets a framework pass whose tools run what `call` runs', async () => {
    class Sound {
      readonly name: string = 'pay';
      readonly schema = { type: 'object' };
      invoke(toolCall: { readonly args: unknown }, config: object): Promise<unknown> {
        return this.call(toolCall.args, { ...config, toolCall });
      }
      async call(args: unknown, config: object): Promise<unknown> {
        return { content: await this._call(args, undefined, config) };
      }
      _call(_args: unknown, _runManager: unknown, _config: object): unknown {
        return 'paid';
      }
    }
    const { tools } = await governTools([new Sound()]);
    expect(tools.map(({ name }) => name)).toEqual(['pay', 'read_artifact']);
  });

  test('refuses a framework that runs another body than that of the tool at hand', async () => {
    const made: { readonly name: string; readonly _call: () => unknown }[] = [];
    class Remembering {
      readonly name: string = 'pay';
      readonly schema = { type: 'object' };
      constructor() {
        made.push(this);
      }
      async invoke(): Promise<unknown> {
        return made.find(({ name }) => name === this.name)?._call();
      }
      async call(): Promise<unknown> {
        return this._call();
      }
      _call(): unknown {
        return 'paid';
      }
    }
    await expect(governTools([new Remembering()])).rejects.toThrow(unsafe('ran all the same'));
  });

  test('refuses a framework whose tools answer by themselves', async () => {
    class Mute {
      readonly name: string = 'pay';
      readonly schema = { type: 'object' };
      async invoke(): Promise<unknown> {
        return 'done';
      }
      async call(): Promise<unknown> {
        return 'done';
      }
    }
    await expect(governTools([new Mute()])).rejects.toThrow(unsafe('never reached the ledger'));
  });
});

test('a list without a tool of the framework is refused, in words that say what is missing', async () => {
  for (const tools of [[], [{ type: 'web_search', name: 'web_search' }]])
    await expect(governTools(tools)).rejects.toThrow(/At least one must be made by tool\(…\)/);
});
