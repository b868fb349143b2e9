/** The events that a round must emit: each occurrence exactly one (docs/protocol.md §6). */
import { expect } from 'chai'
import type { RecordedEvent } from '../../../fixtures/deployment.ts'
import type { World } from '../world.ts'

interface ExpectedEvent {
  readonly issuer: 0 | 1
  readonly name: RecordedEvent['name']
  readonly payload: Readonly<Record<string, unknown>>
}

export interface Expected {
  expectEvent(event: ExpectedEvent): void
  /** Compares what the round expected with what was emitted, in any order. */
  settleEvents(): void
}

/** Members that depend on which of several simultaneous requests came first. */
const UNCERTAIN = {
  'subject_token.refused': ['stage', 'error', 'clientId'],
  'access_token.refused': ['stage', 'error', 'clientId'],
  'impersonation.failed': ['door', 'status', 'check', 'clientId'],
  'subject_token.replayed': [
    'id',
    'userId',
    'clientId',
    'usedBy',
    'sameClient',
    'usedAt',
    'secondsAfter',
    'resource',
    'jti',
  ],
} as const

export function expectations(world: World): Expected {
  let expected: ExpectedEvent[] = []
  const seen = [0, 0]
  return {
    expectEvent: (event) => void expected.push(event),
    settleEvents() {
      const emitted = ([0, 1] as const).flatMap((issuer) => {
        const { events } = world.issuers[issuer].deployment
        const fresh = events.slice(seen[issuer])
        seen[issuer] = events.length
        return fresh.map(({ name, payload }) => ({ issuer, name, payload: { ...payload } }))
      })
      const texts = (events: readonly ExpectedEvent[]) => events.map(textOf).sort()
      expect(texts(emitted), 'events').to.deep.equal(texts(expected))
      expected = []
    },
  }
}

function textOf({ issuer, name, payload }: ExpectedEvent): string {
  const certain: readonly string[] | undefined = Reflect.get(UNCERTAIN, name)
  const members = Object.entries(payload).filter(
    ([member, value]) => value !== undefined && (!certain || certain.includes(member)),
  )
  return JSON.stringify([
    issuer,
    name,
    Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1))),
  ])
}
