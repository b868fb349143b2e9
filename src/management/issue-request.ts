import { missingContext } from '../callbacks/policy.ts'
import type { Seconds } from '../clock.ts'
import type { ResolvedOptions } from '../options.ts'
import { isPlainJson, isPlainObject, type JsonObject } from '../plain-json.ts'
import { isResourceIndicator } from '../resource-indicator.ts'
import { invalidRequest } from './errors.ts'
import { assertKnown, parseName } from './fields.ts'

/** The body of `POST /subject-tokens`, each field checked (protocol.md §2.1). */
export interface IssueRequest {
  readonly userId: string
  readonly context: JsonObject
  readonly clientId?: string
  readonly actorId?: string
  /** As it was sent. */
  readonly resource?: string | readonly string[]
  readonly scope?: string
  readonly expiresIn: Seconds
}

const FIELDS = ['userId', 'context', 'clientId', 'actorId', 'resource', 'scope', 'expiresIn', 'use']
export const MAX_CONTEXT_BYTES = 8 * 1024
export const MAX_CONTEXT_LEVELS = 16
const MAX_RESOURCES = 8

type Limits = Pick<ResolvedOptions, 'subjectTokenTTL' | 'maxSubjectTokenTTL' | 'requiredContext'>

export function parseIssueRequest(body: Record<string, unknown>, options: Limits): IssueRequest {
  const request = parseFields(body, options)
  const missing = missingContext(options, request.context)
  if (missing !== undefined)
    throw invalidRequest({ public: `context.${missing} is required, and must not be blank` })
  return request
}

function parseFields(body: Record<string, unknown>, life: Limits): IssueRequest {
  assertKnown(body, FIELDS)
  const { userId, context, clientId, actorId, resource, scope, expiresIn, use } = body
  if (userId === undefined) throw invalidRequest({ public: 'userId is required' })
  if (use !== undefined && use !== 'exchange') throw invalidRequest({ public: 'use must be exchange' })
  return {
    userId: parseName('userId', userId),
    context: context === undefined ? {} : parseContext(context),
    ...(clientId !== undefined && { clientId: parseName('clientId', clientId) }),
    ...(actorId !== undefined && { actorId: parseName('actorId', actorId) }),
    ...(resource !== undefined && { resource: parseResource(resource) }),
    ...(scope !== undefined && { scope: parseScope(scope) }),
    expiresIn: expiresIn === undefined ? life.subjectTokenTTL : parseLife(expiresIn, life.maxSubjectTokenTTL),
  }
}

function parseContext(value: unknown): JsonObject {
  const fits =
    isPlainObject(value) &&
    isPlainJson(value, MAX_CONTEXT_LEVELS) &&
    Buffer.byteLength(JSON.stringify(value)) <= MAX_CONTEXT_BYTES
  if (!fits) {
    throw invalidRequest({
      public: `context must be a JSON object of at most ${MAX_CONTEXT_BYTES} bytes and ${MAX_CONTEXT_LEVELS} levels`,
    })
  }
  return value as JsonObject
}

/** One, or a list of different ones. */
function parseResource(value: unknown): string | readonly string[] {
  const resources: readonly unknown[] = Array.isArray(value) ? value : [value]
  const areDifferent = new Set(resources).size === resources.length
  if (resources.length < 1 || resources.length > MAX_RESOURCES || !areDifferent) throw notAResource()
  const parsed = resources.map((resource) => {
    if (typeof resource !== 'string') throw notAResource()
    if (isResourceIndicator(parseName('resource', resource))) return resource
    throw notAResource()
  })
  return Array.isArray(value) ? parsed : (parsed[0] ?? '')
}

const notAResource = () =>
  invalidRequest({
    public: `resource must be an absolute URI without fragment, or a list of 1 to ${MAX_RESOURCES} different ones`,
  })

/** One or more names of RFC 6749 §3.3, in any order. */
function parseScope(value: unknown): string {
  const scope = parseName('scope', value)
  if (!/^[!#-[\]-~]+( [!#-[\]-~]+)*$/.test(scope))
    throw invalidRequest({ public: 'scope must hold scope names' })
  return [...new Set(scope.split(' '))].join(' ')
}

function parseLife(value: unknown, longest: Seconds): Seconds {
  const fits = Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= longest
  if (!fits) throw invalidRequest({ public: `expiresIn must be whole seconds from 1 to ${longest}` })
  return Number(value)
}
