import { isStorableName, MAX_NAME_LENGTH } from '../plain-json.ts'
import { invalidRequest } from './errors.ts'

/** A name that comes from outside: of an account, a client or a resource. */
export function parseName(field: string, value: unknown): string {
  if (!isStorableName(value)) {
    throw invalidRequest({ public: `${field} must be a string of 1 to ${MAX_NAME_LENGTH} characters` })
  }
  return value
}
