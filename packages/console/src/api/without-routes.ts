/** Sentences end with a mark and a space. Quoted ids may contain anything, so at worst a sentence too many is kept. */
const sentenceEnd = /(?<=[.;!?]) (?=[A-Z])/;
const namesRoute = /\b(?:GET|POST|PUT|DELETE) \/\w/;

/** Errors advise programs by naming routes of the API. People use the pages instead, so that advice is left out. */
export function withoutRoutes(text: string): string {
  const kept = text.split(sentenceEnd).filter((sentence) => !namesRoute.test(sentence));
  return kept.length === 0 ? text : kept.join(' ').replace(/;$/, '.');
}
