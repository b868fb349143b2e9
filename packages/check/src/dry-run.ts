/** Tries an example with the deployment's own functions, and writes nothing. */
import type { PolicyRequest } from 'oidc-provider-impersonation'
import { type Deployment, type ResolvedOptions, readOnlyNotObeyed } from 'oidc-provider-impersonation/inside'
import { clientsIn, type Example } from './example.ts'
import { descriptionOf, type Finding, fault, note, ok, warning } from './finding.ts'
import { inTime } from './in-time.ts'
import { exchange, issue, open, ownClaims, passOn, Refused } from './rehearsal.ts'
import { metadataOf, type Stage, setStage } from './stage.ts'

const ABOUT = 'dry run'

/** So many functions of the deployment are called one after another in a request, at most. */
const FUNCTIONS = 8

/** `known`: what has been found out before. A fault among it is not told a second time as its consequence. */
export async function dryRun(
  { inside }: Deployment,
  example: Example,
  known: readonly Finding[] = [],
): Promise<Finding[]> {
  const isFaulty = (name: string) => known.some(({ level, about }) => level === 'fault' && about === name)
  const { clientId, resource } = example
  const { options, sawActor } = watchPolicy(inside.options)
  const anywhere = isFaulty('resources') && { token_exchange_resources: [resource] }
  const metadata = async (id: string) => {
    const client = await metadataOf(inside, id)
    return client && { ...client, ...(id === clientId && anywhere) }
  }
  const stoppedBy = ({ text, ofMetadata, undeclared }: Omit<Stopped, 'isDenial' | 'isFailure'>): Finding =>
    undeclared ??
    (ofMetadata && isFaulty('clients') ? note(ABOUT, `stopped by a fault above: ${text}`) : failed(text))
  let stage: Stage
  try {
    stage = await setStage(inside, options, await Promise.all(clientsIn(example).map(metadata)))
  } catch (error) {
    const text = `the second provider cannot be set up: ${descriptionOf(error)}`
    return [stoppedBy({ text, ofMetadata: true })]
  }
  try {
    if (example.expect === 'denied') return [await expectDenied(stage, example, stoppedBy)]
    const { findings, stopped } = await tryOut(stage, example)
    if (!stopped) findings.push(...(await tryUnnamed(stage, example)))
    findings.push(...(await tryToOpen(stage, example)))
    if (stopped) return [...findings, stoppedBy(stopped)]
    if (!options.isAllowed || example.actorId === undefined || sawActor()) return findings
    const text = 'isAllowed does not look at actor: everyone who can sign in may act'
    return [...findings, warning('policy', text, 'let isAllowed decide on actor.sub')]
  } finally {
    stage.close()
  }
}

/** A backend may leave the engineer out, and so may an application where `requireActor` is off: no function fails over it. */
async function tryUnnamed(stage: Stage, { actorId, ...unnamed }: Example): Promise<Finding[]> {
  if (actorId === undefined) return []
  const { stopped } = await tryOut(stage, unnamed)
  return stopped?.isFailure ? [failed(`without actorId, and so without an actor: ${stopped.text}`)] : []
}

const undeclared = (name: string, advice: string): Finding =>
  fault('read only', `${name} does not say that it obeys what is read-only, which the example is`, advice)

const failed = (text: string): Finding => fault(ABOUT, text, 'correct the example, or what failed')

/** A policy that goes by whom the backend names lets in everyone whom it does not name. */
async function expectDenied(
  stage: Stage,
  example: Example,
  stoppedBy: (stopped: Stopped) => Finding,
): Promise<Finding> {
  let denial = ''
  for (const naming of example.actorId === undefined ? [true] : [true, false]) {
    const { stopped } = await tryOut(stage, example, naming)
    if (!stopped) {
      const unnamed = naming ? '' : ' where the backend does not name the actor'
      const text = `isAllowed allows it${unnamed}, and the example expects "denied"`
      return fault('policy', text, 'let isAllowed decide on actor.sub, at every stage')
    }
    if (!stopped.isDenial) return stoppedBy(stopped)
    denial ||= stopped.text
  }
  return ok(ABOUT, `denied, as the example expects: ${denial}`)
}

interface Stopped {
  readonly text: string
  /** Refused by the policy, or by a function that returns claims. */
  readonly isDenial: boolean
  /** Refused by no decision: a function threw, or there is a mistake. */
  readonly isFailure: boolean
  /** Not by a function of the deployment, and not because of the people. */
  readonly ofMetadata: boolean
  /** It has not said that it obeys what is read-only. */
  readonly undeclared?: Finding | undefined
}

const NOT_OBEYED = descriptionOf(readOnlyNotObeyed())

/** `resource` is what was asked for. */
function stoppedAt(where: string, error: unknown, resource: string): Stopped {
  const { check, isDenial = false, isFailure = false } = error instanceof Refused ? error : {}
  return {
    text: `${check ?? 'the request'} at the ${where}: ${descriptionOf(error)}`,
    isDenial,
    isFailure,
    ofMetadata: check === undefined || check === 'request' || check === 'target',
    undeclared:
      descriptionOf(error) === NOT_OBEYED
        ? undeclared(resource, 'let getResourceServerInfo return readOnly: true for it, once its API obeys')
        : undefined,
  }
}

interface TriedOut {
  readonly findings: Finding[]
  readonly stopped?: Stopped
}

async function tryOut(stage: Stage, example: Example, naming = true): Promise<TriedOut> {
  const { clientId, actorId, resource, scope, onBehalfOf: step } = example
  const findings: Finding[] = []
  const inStage = <Result>(result: Promise<Result>) =>
    inTime(stage, 'functions of the deployment', result, FUNCTIONS)
  const allowed = async (start: string, token: string) => {
    const shown = JSON.stringify(await ownClaims(stage, token))
    findings.push(ok(ABOUT, `${start}isAllowed allows it, and your functions return the claims ${shown}`))
  }
  let where = 'issuance'
  try {
    const constraints = {
      clientId,
      actorId: naming ? actorId : undefined,
      resource: step && step.resource !== resource ? [resource, step.resource] : resource,
      scope: [scope, step?.scope].filter(Boolean).join(' ') || undefined,
    }
    const subjectToken = await inStage(issue(stage, example, constraints))
    where = 'exchange'
    const token = await inStage(exchange(stage, example, subjectToken))
    await allowed('', token)
    where = 'stage onBehalfOf'
    const { onBehalfOf } = stage.options
    if (onBehalfOf && step) await allowed('onBehalfOf: ', await inStage(passOn(stage, step, token)))
    else if (onBehalfOf)
      findings.push(note(ABOUT, `the ${where} was not tried: the example has no member onBehalfOf`))
    else if (step) {
      const advice = 'set onBehalfOf, or remove it from the example'
      findings.push(fault(ABOUT, 'onBehalfOf is off: an API can exchange nothing', advice))
    }
    return { findings }
  } catch (error) {
    const target = where === 'exchange' ? resource : (step?.resource ?? resource)
    return { findings, stopped: stoppedAt(where, error, target) }
  }
}

/** An application is opened, if the example names one. */
async function tryToOpen(stage: Stage, example: Example): Promise<Finding[]> {
  const { session, userId } = example
  if (!stage.options.sessions)
    return session
      ? [fault(ABOUT, 'sessions are off: nothing can be opened', 'set sessions, or remove session')]
      : []
  if (!session) return [note(ABOUT, 'no application was opened: the example has no member session')]
  try {
    const act = await inTime(stage, 'functions of the deployment', open(stage, example), FUNCTIONS)
    const text = `session: "${session.clientId}" opens as ${userId}; its ID token has act ${JSON.stringify(act)}`
    return [ok(ABOUT, text)]
  } catch (error) {
    if (!descriptionOf(error).startsWith('readOnly is not obeyed'))
      return [failed(`session: ${descriptionOf(error)}`)]
    return [undeclared(`"${session.clientId}"`, 'set impersonation_read_only: true, once it has a guard')]
  }
}

/** The policy, with a note of whether it looked at who acts once that was proven. */
function watchPolicy({ isAllowed, ...options }: ResolvedOptions) {
  let saw = false
  const watch = <Request extends PolicyRequest>(request: Request): Request => {
    const { actor, stage } = request
    if (!actor || stage !== 'exchange') return request
    const get = () => {
      saw = true
      return actor
    }
    return Object.freeze(Object.defineProperty({ ...request }, 'actor', { enumerable: true, get }))
  }
  const watched = isAllowed && ((request: PolicyRequest) => isAllowed(watch(request)))
  return { options: { ...options, isAllowed: watched }, sawActor: () => saw }
}
