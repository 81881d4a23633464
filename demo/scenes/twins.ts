import type { Scene } from '../stage.ts';

export const twins: Scene = {
  title:
    'The most common way to pay twice: no answer arrives, and the model repeats the call under a new id.',
  async play({ ask, check, note, openTurn, world: { ada, shop } }) {
    const turn = openTurn();
    const refund = { order: 17, cents: 417 };
    const payment = { order: 9, cents: 99_00 };
    shop.answerAfter(600);
    await ask(turn, 'refund', refund, {
      ends: 'timeout tool.timeout',
      happened: 'the shop has it, the answer is late',
    });
    ada.will('deny', 'I saw it in the bank');
    await ask(turn, 'refund', refund, {
      ends: 'denied write_denied confirmation.rejected',
      happened: 'held for Ada, who denies it',
      records: ['requires_confirmation', 'blocked'],
    });
    await ask(turn, 'pay_supplier', payment, {
      ends: 'timeout tool.timeout',
      happened: 'again no answer in time',
    });
    await ask(turn, 'pay_supplier', payment, {
      ends: 'denied duplicate call.twin',
      happened: 'this tool is set to deny, not to ask',
    });
    shop.answerAfter(0);
    const posted = shop.seen.filter((line) => /^POST \/(refunds|payments)$/.test(line)).length;
    check('the shop should have received one refund and one payment.', posted === 2);
    note(`Requested four times; ${posted} calls reached the shop: one refund and one payment.`);
  },
};
