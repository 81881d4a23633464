/** A scripted model, so that the project runs without an API key. Replace it, for example with `new ChatOpenAI()`. */
import { AIMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';

export const createModel = () =>
  fakeModel()
    .respondWithTools([
      { id: 'call_1', name: 'refund', args: { order: 'A-1', cents: 900 } },
      { id: 'call_2', name: 'refund', args: { order: 'B-2', cents: 9_000 } },
    ])
    .respond(new AIMessage('I am done with the refunds.'));
