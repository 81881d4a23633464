/** What is wrong with a preview, already in the words that follow "The preview of the tool". A recorded one knows them. */
class PreviewProblem extends Error {}

export const previewEndedWith = (problem: string): Error => new PreviewProblem(problem);

export const previewProblemOf = (thrown: unknown): string | undefined =>
  thrown instanceof PreviewProblem ? thrown.message : undefined;
