import Router from '@koa/router'
import type { Context } from 'koa'
import { readJsonObject } from '../base/body.ts'
import type { ManagementScope } from '../base/constants.ts'
import { requestOf } from '../provider/failures.ts'
import { findAccount } from '../provider/lib-grants.ts'
import type { Service } from '../provider/settings.ts'
import type { Caller } from '../records/accounts.ts'
import { acknowledgeSubjectToken, parseAcknowledgementRequest } from '../records/acknowledge.ts'
import { onlyOne } from '../records/fields.ts'
import { issueSubjectToken, parseIssueRequest } from '../records/issue.ts'
import { listSubjectTokens, parseListRequest, QUERY } from '../records/list.ts'
import { showSubjectToken } from '../records/record.ts'
import {
  KILLED_BY,
  killFilterOf,
  parseStopRequest,
  revokeAsAsked,
  revokeSubjectToken,
  revokeSubjectTokens,
} from '../records/stop.ts'
import { parseSummaryRequest, summarizeSubjectTokens } from '../records/summary.ts'
import type { Revocation } from '../tokens/subject-token.ts'
import { authenticator, challengeOf, type ManagementContext } from './authenticate.ts'
import { assertNoQuery, single, valuesIn } from './query.ts'
import { only, respond } from './respond.ts'

const COLLECTION = '/subject-tokens'
const REVOCATIONS = '/subject-tokens/revocations'
const SUMMARY = '/subject-tokens/summary'
const ITEM = '/subject-tokens/:id'
const ACKNOWLEDGEMENT = '/subject-tokens/:id/acknowledgement'

/** The management API (protocol.md §2) below `prefix`. `routes()` alone responds to all its paths, 405 included. */
export function managementRouter(service: Service, prefix: string): Router {
  const { provider, settings } = service
  const authenticate = authenticator(provider, settings)
  const handlers = handlersOf(service)
  const router = new Router({ prefix, sensitive: true, strict: true })
  // Each route names it: `router.use` matches by a pattern of its own, so that a path could reach a route without it.
  const responding = respond(provider, 'management', (error) => challengeOf(provider.issuer, error))

  const allow = (scope: ManagementScope, handle: Handle) => {
    return async (ctx: Context) => handle(ctx, callerOf(await authenticate(ctx, scope)))
  }
  router.post(COLLECTION, responding, allow('subject-tokens:create', handlers.issue))
  router.get(COLLECTION, responding, allow('subject-tokens:read', handlers.list))
  router.delete(COLLECTION, responding, allow('subject-tokens:revoke', handlers.revokeAll))
  // These come before the route of one token, which would match their paths.
  router.post(REVOCATIONS, responding, allow('subject-tokens:revoke', handlers.revokeSaying))
  router.all(REVOCATIONS, responding, only('POST'))
  router.get(SUMMARY, responding, allow('subject-tokens:read', handlers.summarize))
  router.all(SUMMARY, responding, only('GET', 'HEAD'))
  router.get(ITEM, responding, allow('subject-tokens:read', handlers.show))
  router.delete(ITEM, responding, allow('subject-tokens:revoke', handlers.revoke))
  router.post(ACKNOWLEDGEMENT, responding, allow('subject-tokens:revoke', handlers.acknowledge))
  router.all(ACKNOWLEDGEMENT, responding, only('POST'))
  router.all(COLLECTION, responding, only('GET', 'HEAD', 'POST', 'DELETE'))
  router.all(ITEM, responding, only('GET', 'HEAD', 'DELETE'))
  return router
}

type Handle = (ctx: Context, caller: Caller) => Promise<void>

/** Each parses a request, calls a function that knows no HTTP, and writes the response. */
function handlersOf(service: Service) {
  const { provider, settings } = service
  // The Host header, which anyone can write, has no part in it.
  const location = `${settings.managementResource(provider).replace(/\/$/, '')}/subject-tokens`
  return {
    async issue(ctx, caller) {
      const request = parseIssueRequest(await readJsonObject(ctx), service)
      const { subjectToken, record } = await issueSubjectToken(service, caller, request)
      ctx.status = 201
      ctx.set('Location', `${location}/${record.id}`)
      ctx.body = { subjectToken, expiresIn: request.expiresIn }
    },
    async list(ctx, caller) {
      ctx.body = await listSubjectTokens(service, caller, parseListRequest(valuesIn(ctx.querystring, QUERY)))
    },
    async summarize(ctx) {
      ctx.body = await summarizeSubjectTokens(
        service,
        parseSummaryRequest(valuesIn(ctx.querystring, ['days'])),
      )
    },
    async show(ctx) {
      assertNoQuery(ctx.querystring)
      ctx.body = await showSubjectToken(service, idOf(ctx))
    },
    async revoke(ctx, caller) {
      assertNoQuery(ctx.querystring)
      await revokeSubjectToken(service, idOf(ctx), byApi(caller), caller)
      ctx.status = 204
    },
    async revokeAll(ctx, caller) {
      const given = single(ctx.querystring, KILLED_BY)
      const filter = killFilterOf(onlyOne(given, KILLED_BY), given)
      const { revoked } = await revokeSubjectTokens(service, caller, filter, byApi(caller))
      ctx.body = { revoked }
    },
    async revokeSaying(ctx, caller) {
      assertNoQuery(ctx.querystring)
      const request = parseStopRequest(await readJsonObject(ctx))
      ctx.body = await revokeAsAsked(service, caller, request, byApi(caller))
    },
    async acknowledge(ctx) {
      assertNoQuery(ctx.querystring)
      const request = parseAcknowledgementRequest(await readJsonObject(ctx))
      await acknowledgeSubjectToken(service, idOf(ctx), request)
      ctx.status = 204
    },
  } satisfies Readonly<Record<string, Handle>>
}

/** `findAccount` gets the context of this request. */
const callerOf = (ctx: ManagementContext): Caller => ({
  id: ctx.oidc.client.clientId,
  findAccount: (name) => findAccount(ctx, name),
  report: (error) => void ctx.app.emit('error', error, ctx),
  request: requestOf(ctx),
})

const byApi = ({ id }: Caller): Revocation => ({ cause: 'api', client: id })

const idOf = (ctx: Context): string => String(ctx.params.id)
