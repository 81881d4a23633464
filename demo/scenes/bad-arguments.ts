import type { Scene } from '../stage.ts';

export const badArguments: Scene = {
  title: 'Listed rules or the host repair arguments that nearly match; nothing is guessed.',
  async play({ ask, check, openTurn }) {
    const turn = openTurn();
    const coerced = await ask(
      turn,
      'get_order',
      { id: '17' },
      { ends: 'result', happened: '"17" became 17 (numeric_string)' },
    );
    check(
      'the outcome should say that the arguments were coerced.',
      coerced.type === 'ToolExecutionResult' && coerced.wasCoerced,
    );
    await ask(
      turn,
      'get_order',
      { id: 'eighteen' },
      { ends: 'result', happened: 'repaired by the host: 18' },
    );
    await ask(
      turn,
      'get_order',
      { id: 'the last one' },
      { ends: 'denied validation tool.invalid_input', happened: 'no rule and no repair applies' },
    );
    await ask(turn, 'get_order', '{"id": 17', {
      ends: 'denied validation tool.invalid_input',
      happened: 'text that is not JSON is never {}',
    });
    await ask(
      turn,
      'get_ordr',
      { id: 17 },
      { ends: 'failure tool.unknown', happened: 'no such tool; the nearest is named' },
    );
  },
};
