/** The errors of the status lists: fixed texts, as JSON (protocol.md §2.4). */
import { isStorageUnavailable } from '../outage.ts'

/** The message is for the client. */
export class StatusListError extends Error {
  readonly status: number
  readonly error: string
  constructor(status: number, error: string, text: string) {
    super(text)
    this.status = status
    this.error = error
  }
}

export const listNotFound = () => new StatusListError(404, 'not_found', 'status list not found')

export const methodNotAllowed = () => new StatusListError(405, 'invalid_request', 'method not allowed')

export const notAcceptable = () =>
  new StatusListError(406, 'invalid_request', 'a status list is application/statuslist+jwt and nothing else')

/** Draft-ietf-oauth-status-list §8.4. */
export const historyNotOffered = () =>
  new StatusListError(501, 'invalid_request', 'time is not supported: only the present list is published')

/** What the client reads of an error that was not built here. */
export function statusListErrorOf(error: unknown): StatusListError {
  if (error instanceof StatusListError) return error
  return isStorageUnavailable(error)
    ? new StatusListError(503, 'temporarily_unavailable', 'the service is temporarily unavailable')
    : new StatusListError(500, 'server_error', 'something went wrong')
}
