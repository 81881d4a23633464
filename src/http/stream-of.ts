/** Text as it is made: no more of it than the reader has room for, and none once the reader is gone. */
const encoder = new TextEncoder();
/** Small pieces are sent together. */
const pieceChars = 16_384;

export function streamOf(texts: AsyncGenerator<string, void, undefined>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        let piece = '';
        while (piece.length < pieceChars) {
          const next = await texts.next();
          if (next.done === true) {
            if (piece !== '') controller.enqueue(encoder.encode(piece));
            controller.close();
            return;
          }
          piece += next.value;
          // An event is for now, not for when there are more.
          if (next.value.startsWith('id: ')) break;
        }
        controller.enqueue(encoder.encode(piece));
      },
      async cancel() {
        await texts.return();
      },
    },
    { highWaterMark: 1 },
  );
}
