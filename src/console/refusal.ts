import { ManagementError } from '../management/errors.ts'

/** The text is a sentence, for the page of the error, which sets its full stop. */
export const forbidden = (text: string) =>
  new ManagementError({ status: 403, error: 'forbidden', public: text })

/** What to say above the form when the input was wrong; every other error is thrown on. */
export function inputErrorOf(error: unknown): string {
  if (error instanceof ManagementError && [400, 413, 415].includes(error.status)) return error.message
  throw error
}
