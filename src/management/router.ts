import Router from '@koa/router'
import type { Context } from 'koa'
import type { ManagementScope } from '../constants.ts'
import type { ResolvedOptions } from '../options.ts'
import { findAccount } from '../provider/grants.ts'
import type { Settings } from '../provider/settings.ts'
import type { Revocation } from '../subject-tokens/subject-token.ts'
import { acknowledgeSubjectToken } from './acknowledge.ts'
import { parseAcknowledgementRequest } from './acknowledgement-request.ts'
import { authenticate, type ManagementContext } from './authenticate.ts'
import { readJsonObject } from './body.ts'
import { methodNotAllowed } from './errors.ts'
import { listSubjectTokens, showSubjectToken } from './inspect.ts'
import { issueSubjectToken } from './issue.ts'
import { parseIssueRequest } from './issue-request.ts'
import { assertNoQuery, parseKillRequest, parseListRequest, parseSummaryRequest } from './list-request.ts'
import { managementTokenVerifier } from './management-token.ts'
import { respond } from './respond.ts'
import { parseRevocationRequest } from './revocation-request.ts'
import { revokeSubjectToken, revokeSubjectTokens } from './revoke.ts'
import type { Caller, ManagementService } from './service.ts'
import { summarizeSubjectTokens } from './summary.ts'

interface Management extends ManagementService {
  readonly options: ResolvedOptions
  readonly settings: Settings
}

const COLLECTION = '/subject-tokens'
const REVOCATIONS = '/subject-tokens/revocations'
const SUMMARY = '/subject-tokens/summary'
const ITEM = '/subject-tokens/:id'
const ACKNOWLEDGEMENT = '/subject-tokens/:id/acknowledgement'

/** The management API (protocol.md §2) below `prefix`. `routes()` alone responds to all its paths, 405 included. */
export function managementRouter(management: Management, prefix: string): Router {
  const { provider, settings } = management
  const verify = managementTokenVerifier(provider, settings)
  const handlers = handlersOf(management)
  const router = new Router({ prefix, sensitive: true, strict: true })
  // On each route: `router.use` matches by a pattern of its own, so that a path could reach a route without it.
  const responding = respond(provider.issuer)

  const allow = (scope: ManagementScope, handle: Handle) => {
    return async (ctx: Context) => handle(ctx, callerOf(await authenticate(ctx, scope, { provider, verify })))
  }
  const only = (...methods: string[]) => {
    return (ctx: Context) => {
      ctx.set('Allow', methods.join(', '))
      throw methodNotAllowed()
    }
  }

  router.post(COLLECTION, responding, allow('subject-tokens:create', handlers.issue))
  router.get(COLLECTION, responding, allow('subject-tokens:read', handlers.list))
  router.delete(COLLECTION, responding, allow('subject-tokens:revoke', handlers.revokeAll))
  // Before the route of one token, which would match these paths.
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
function handlersOf(management: Management) {
  const { provider, options, settings } = management
  // Never built from the Host header.
  const location = `${settings.managementResource(provider).replace(/\/$/, '')}/subject-tokens`
  return {
    async issue(ctx, caller) {
      const request = parseIssueRequest(await readJsonObject(ctx), options)
      const { subjectToken, record } = await issueSubjectToken(management, caller, request)
      ctx.status = 201
      ctx.set('Location', `${location}/${record.id}`)
      ctx.body = { subjectToken, expiresIn: request.expiresIn }
    },
    async list(ctx, caller) {
      ctx.body = await listSubjectTokens(management, caller, parseListRequest(ctx.querystring))
    },
    async summarize(ctx) {
      ctx.body = await summarizeSubjectTokens(management, parseSummaryRequest(ctx.querystring))
    },
    async show(ctx) {
      assertNoQuery(ctx.querystring)
      ctx.body = await showSubjectToken(management, idOf(ctx))
    },
    async revoke(ctx, caller) {
      assertNoQuery(ctx.querystring)
      await revokeSubjectToken(management, idOf(ctx), byApi(caller))
      ctx.status = 204
    },
    async revokeAll(ctx, caller) {
      const filter = parseKillRequest(ctx.querystring)
      const { revoked } = await revokeSubjectTokens(management, caller, filter, byApi(caller))
      ctx.body = { revoked }
    },
    async revokeSaying(ctx, caller) {
      assertNoQuery(ctx.querystring)
      const { revoked, says } = parseRevocationRequest(await readJsonObject(ctx))
      const revocation = { ...byApi(caller), ...says }
      ctx.body =
        'id' in revoked
          ? await revokeSubjectToken(management, revoked.id, revocation)
          : await revokeSubjectTokens(management, caller, revoked, revocation)
    },
    async acknowledge(ctx) {
      assertNoQuery(ctx.querystring)
      const request = parseAcknowledgementRequest(await readJsonObject(ctx))
      await acknowledgeSubjectToken(management, idOf(ctx), request)
      ctx.status = 204
    },
  } satisfies Readonly<Record<string, Handle>>
}

/** `findAccount` gets the context of this request. */
const callerOf = (ctx: ManagementContext): Caller => ({
  clientId: ctx.oidc.client.clientId,
  findAccount: (name) => findAccount(ctx, name),
  report: (error) => void ctx.app.emit('error', error, ctx),
})

const byApi = ({ clientId }: Caller): Revocation => ({ cause: 'api', client: clientId })

const idOf = (ctx: Context): string => String(ctx.params.id)
