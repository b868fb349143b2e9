/** JSON of the provider's, before anything is believed of it. */
import { ProviderUnavailable } from './errors.ts'

export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** @throws {ProviderUnavailable} for what is not a JSON object; `what` is what was asked for. */
export function parseObject(what: string, text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Said below: the text of a syntax error quotes what it found.
  }
  throw new ProviderUnavailable(`${what}: not a JSON object`)
}
