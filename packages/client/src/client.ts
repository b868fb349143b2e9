import {
  acknowledgeJson,
  assertExchange,
  assertId,
  assertOnBehalfOf,
  assertRequest,
  issueJson,
  issueSessionJson,
  queryOf,
  signalOf,
  stopJson,
} from './arguments.ts'
import { Call } from './call.ts'
import { invalidResponse } from './errors.ts'
import { exchange } from './exchange.ts'
import { managementApi } from './management-api.ts'
import { type ImpersonationClientOptions, resolveOptions } from './options.ts'
import type { SubjectTokenRecord, SubjectTokenRecordPage } from './record.ts'
import type {
  AcknowledgeRequest,
  CallOptions,
  ExchangedToken,
  ExchangeRequest,
  IssuedSubjectToken,
  IssueRequest,
  IssueSessionRequest,
  ListRequest,
  OnBehalfOfRequest,
  Stopped,
  StopRequest,
} from './requests.ts'
import { tokenEndpoint } from './token-endpoint.ts'

/**
 * The provider as an integrator's backend uses it. Every method rejects with an `ImpersonationError`, or, before
 * anything is sent, with a `TypeError` for arguments that cannot be sent. Discovery and management tokens are its own
 * business: they are requested when they are needed, and kept.
 */
export interface ImpersonationClient {
  /** Issues a subject token. Needs the scope `subject-tokens:create`. Never repeated if the response is lost. */
  issue(request: IssueRequest, options?: CallOptions): Promise<IssuedSubjectToken>

  /**
   * Issues a subject token that opens an application as the user (option `sessions` of the provider): the engineer's browser
   * takes it to the door, in a form. Needs the scope `subject-tokens:create`. Never repeated if the response is lost. A client
   * that is not open to sessions, and an actor who is the user, are an error with the `status` 400.
   *
   * @example
   * const { subjectToken } = await impersonation.issueSession({ userId: 'alice', actorId: 'sam', clientId: 'shop' })
   */
  issueSession(request: IssueSessionRequest, options?: CallOptions): Promise<IssuedSubjectToken>

  /**
   * The record of one impersonation. Needs `subject-tokens:read`. An unknown `id` is `not_found`, and one that is not 32
   * lower-case hexadecimal digits a `TypeError`.
   */
  get(id: string, options?: CallOptions): Promise<SubjectTokenRecord>

  /**
   * All records that match, newest first; pages are requested as you read on. Needs `subject-tokens:read`.
   *
   * @example
   * for await (const record of impersonation.list({ live: true, actorId: 'sam' })) show(record)
   */
  list(request?: ListRequest, options?: CallOptions): AsyncIterable<SubjectTokenRecord>

  /** One page of the same list, for a backend that passes pages on. */
  listPage(request?: ListRequest, options?: CallOptions): Promise<SubjectTokenRecordPage>

  /**
   * Stops one impersonation, or, by `userId`, `actorId` or `createdBy`, all of them. Needs `subject-tokens:revoke`.
   * Resolves to how many were stopped that had not been before. Not repeated after a 503: some may have been stopped
   * then. Repeat it until it resolves; what has been stopped stays so, and is not counted again.
   */
  stop(request: StopRequest, options?: CallOptions): Promise<Stopped>

  /**
   * Writes to a record who has looked into its alarms (a replay, an exchange without actor), and what they found. Needs
   * `subject-tokens:revoke`. A record without alarms, or with another replay than `replayedAt`, is an error with the
   * `status` 409. Can be repeated: where everything is covered, nothing is written.
   */
  acknowledge(id: string, request: AcknowledgeRequest, options?: CallOptions): Promise<void>

  /** Exchanges a subject token as this client. Never repeated if the response is lost: request a new subject token. */
  exchange(request: ExchangeRequest, options?: CallOptions): Promise<ExchangedToken>

  /**
   * Exchanges the access token that this API received for one that calls the next API, for the same user. The people who
   * act for the user stay in it, and this client is added (RFC 8693 §4.1). Nothing is spent: a lost response may be requested
   * again. The provider needs `onBehalfOf`, and the client `token_exchange_audiences`.
   *
   * @example
   * const { accessToken } = await impersonation.onBehalfOf({ subjectToken: received, resource: billing, scope: 'invoices:read' })
   */
  onBehalfOf(request: OnBehalfOfRequest, options?: CallOptions): Promise<ExchangedToken>
}

/**
 * Creates a client of the management API and the token endpoint.
 *
 * @throws {TypeError} that names the option that is missing, wrong or unknown.
 * @example
 * const impersonation = createImpersonationClient({ issuer: 'https://id.example.com/oidc', clientId, clientSecret })
 * const { subjectToken } = await impersonation.issue({ userId: 'alice', actorId: 'sam' })
 */
export function createImpersonationClient(given: ImpersonationClientOptions): ImpersonationClient {
  const options = resolveOptions(given)
  const requestToken = tokenEndpoint(options)
  const manage = managementApi(options, requestToken)

  async function listPage(request: ListRequest = {}, call?: CallOptions) {
    const sent = { path: queryOf(request), signal: signalOf(call) }
    const { body } = await manage('subject-tokens:read', sent)
    const { items, nextCursor } = Object(body)
    if (!Array.isArray(items) || !(nextCursor === undefined || isCursor(nextCursor)))
      throw invalidResponse(200, 'not a page of records')
    return body as SubjectTokenRecordPage
  }

  async function issueBy(json: string, call?: CallOptions): Promise<IssuedSubjectToken> {
    const sent = { method: 'POST', path: '', json, signal: signalOf(call) }
    const { body, location } = await manage('subject-tokens:create', sent)
    const { subjectToken, expiresIn } = Object(body)
    const [, id] = /\/([0-9a-f]{32})$/.exec(location) ?? []
    if (typeof subjectToken !== 'string' || typeof expiresIn !== 'number' || !id)
      throw invalidResponse(201, 'not a subject token')
    return { subjectToken, expiresIn, id }
  }

  return {
    issue: async (request, call) => issueBy(issueJson(request), call),

    issueSession: async (request, call) => issueBy(issueSessionJson(request), call),

    async get(id, call) {
      assertId(id)
      const { body } = await manage('subject-tokens:read', { path: `/${id}`, signal: signalOf(call) })
      if (Object(body).id !== id) throw invalidResponse(200, 'not this record')
      return body as SubjectTokenRecord
    },

    async *list(request = {}, call) {
      assertRequest(request)
      const followed = new Set<string | undefined>()
      let cursor = request.cursor
      do {
        followed.add(cursor)
        const page = await listPage({ ...request, cursor }, call)
        yield* page.items
        cursor = page.nextCursor
        if (cursor !== undefined && followed.has(cursor)) throw invalidResponse(200, 'a list without end')
      } while (cursor !== undefined)
    },

    listPage,

    async stop(request, call) {
      const sent = { method: 'POST', path: '/revocations', json: stopJson(request), signal: signalOf(call) }
      // Before a 503, some may have been stopped, whose number is lost.
      const { body } = await manage('subject-tokens:revoke', { ...sent, repeated: [429] })
      const { revoked, kept } = Object(body)
      if (typeof revoked !== 'number' || !['number', 'undefined'].includes(typeof kept))
        throw invalidResponse(200, 'not a number of records')
      return { revoked, ...(kept !== undefined && { kept }) }
    },

    async acknowledge(id, request, call) {
      assertId(id)
      const path = `/${id}/acknowledgement`
      const sent = { method: 'POST', path, json: acknowledgeJson(request), signal: signalOf(call) }
      const { body } = await manage('subject-tokens:revoke', sent)
      if (body !== undefined) throw invalidResponse(200, 'not an acknowledgement')
    },

    async exchange(request, call) {
      assertExchange(request)
      return exchange(new Call(options.timeout, signalOf(call)), requestToken, request)
    },

    async onBehalfOf(request, call) {
      assertOnBehalfOf(request)
      return exchange(new Call(options.timeout, signalOf(call)), requestToken, request)
    },
  }
}

const isCursor = (value: unknown): boolean => typeof value === 'string' && value !== ''
