/** Compares a response with what was promised, member by member. */
import { isDeepStrictEqual } from 'node:util'
import { shortened } from './shortened.ts'

/** A promise about a value that cannot be known beforehand. */
export class Rule {
  readonly says: string
  readonly holds: (value: unknown) => boolean
  constructor(says: string, holds: (value: unknown) => boolean) {
    this.says = says
    this.holds = holds
  }
}

export const matching = (says: string, pattern: RegExp): Rule =>
  new Rule(says, (value) => typeof value === 'string' && pattern.test(value))

type Members = Readonly<Record<string, unknown>>
const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** One sentence for each difference: a member that is missing, is wrong or should not be there. */
export function differences(what: string, actual: unknown, expected: unknown): string[] {
  if (expected instanceof Rule) {
    return expected.holds(actual) ? [] : [`${what} is ${shown(actual)}: it should be ${expected.says}`]
  }
  if (!isMembers(expected) || !isMembers(actual)) {
    return isDeepStrictEqual(actual, expected)
      ? []
      : [`${what} is ${shown(actual)}: it should be ${shown(expected)}`]
  }
  const unexpected = Object.keys(actual).filter((member) => !Object.hasOwn(expected, member))
  return [
    ...unexpected.map((member) => `${what}.${member} should not be there`),
    ...Object.entries(expected).flatMap(([member, promise]) =>
      Object.hasOwn(actual, member)
        ? differences(`${what}.${member}`, actual[member], promise)
        : [`${what}.${member} is missing`],
    ),
  ]
}

function shown(value: unknown): string {
  if (value === undefined) return 'absent'
  return shortened(JSON.stringify(value, (_name, member) => (member instanceof Rule ? member.says : member)))
}
