/** Asks the deployment's own functions about an example, and writes nothing. */
import { type Account, errors } from 'oidc-provider'
import { RESERVED_CLAIMS } from '../../constants.ts'
import type { JsonObject } from '../../plain-json.ts'
import { findAccount } from '../../provider/grants.ts'
import { checkOf, reasonOf } from '../../refusals.ts'
import { contextOf } from './context.ts'
import { descriptionOf, type Finding, fault, messageOf, note, ok, warning } from './finding.ts'
import { inTime } from './in-time.ts'
import type { Deployment, Example } from './module.ts'
import { type Rehearsal, rehearse } from './rehearsal.ts'
import { rehearseSession } from './session-rehearsal.ts'

const ABOUT = 'dry run'

/** `known`: what has been found out before. A fault among it is not told a second time as its consequence. */
export async function dryRun(
  { inside }: Deployment,
  example: Example,
  known: readonly Finding[] = [],
): Promise<Finding[]> {
  const faulty = (...names: string[]) =>
    known.some(({ level, about }) => level === 'fault' && names.includes(about))
  let account: Account | undefined
  try {
    account = await inTime(inside, 'it', findAccount(contextOf(inside), example.userId))
  } catch (error) {
    return [failed(`findAccount: ${messageOf(error)}`)]
  }
  if (!account) return [failed(`findAccount: there is no account ${example.userId}`)]
  const rehearsal = rehearse(inside, { example, account, anyResource: faulty('resources') })
  const stoppedBy = (refused: Refused): Finding =>
    refused.ofMetadata && faulty('clients', 'downstream')
      ? note(ABOUT, `stopped by a fault above: ${refused.text}`)
      : failed(refused.text)
  if (example.expect === 'denied') return [await expectDenied(rehearsal, example, stoppedBy)]

  const { findings, refused } = await tryOut(rehearsal, example)
  findings.push(...(await trySession(inside, example)))
  if (refused) return [...findings, stoppedBy(refused)]
  if (!inside.options.isAllowed || example.actorId === undefined || rehearsal.sawActor()) return findings
  const text = 'isAllowed does not look at actor: everyone who can sign in may act'
  return [...findings, warning('policy', text, 'let isAllowed decide on actor.sub')]
}

/** Longer than any one function, and shorter than someone waits. */
const FUNCTIONS_OF_A_SIGN_IN = 8

/** An application is opened, if the example names one. */
async function trySession(inside: Deployment['inside'], example: Example): Promise<Finding[]> {
  const { session, actorId = '', userId } = example
  if (!inside.door)
    return session
      ? [fault(ABOUT, 'sessions are off: nothing can be opened', 'set sessions, or remove session')]
      : []
  if (!session) return [note(ABOUT, 'no application was opened: the example has no member session')]
  try {
    const rehearsed = rehearseSession(inside, { ...example, session, actorId })
    const act = await inTime(inside, 'functions of the deployment', rehearsed, FUNCTIONS_OF_A_SIGN_IN)
    return [
      ok(
        ABOUT,
        `session: "${session.clientId}" opens as ${userId}; its ID token has act ${JSON.stringify(act)}`,
      ),
    ]
  } catch (error) {
    return [failed(`session: ${descriptionOf(error)}`)]
  }
}

const failed = (text: string): Finding => fault(ABOUT, text, 'correct the example, or the function')

/** A policy that goes by whom the backend names lets in everyone whom it does not name. */
async function expectDenied(
  rehearsal: Rehearsal,
  example: Example,
  stoppedBy: (refused: Refused) => Finding,
): Promise<Finding> {
  let denial = ''
  for (const naming of example.actorId === undefined ? [true] : [true, false]) {
    const { refused } = await tryOut(rehearsal, example, naming)
    if (!refused) {
      const unnamed = naming ? '' : ' where the backend does not name the actor'
      const text = `isAllowed allows it${unnamed}, and the example expects "denied"`
      return fault('policy', text, 'let isAllowed decide on actor.sub, at every stage')
    }
    if (!refused.denied) return stoppedBy(refused)
    denial ||= refused.text
  }
  return ok(ABOUT, `denied, as the example expects: ${denial}`)
}

/** How a request was refused. */
interface Refused {
  readonly text: string
  /** By the policy, or the functions that return claims. */
  readonly denied: boolean
  /** Not by a function of the deployment, and not because of the people. */
  readonly ofMetadata: boolean
}

function refusedAt(stage: string, error: unknown): Refused {
  const check = error instanceof Error ? checkOf(error) : undefined
  const reason = check ? reasonOf(error as Error) : descriptionOf(error)
  return {
    text: `${check ?? 'the request'} at the ${stage}: ${reason}`,
    denied: error instanceof errors.AccessDenied,
    ofMetadata: check === undefined || check === 'request' || check === 'target',
  }
}

interface TriedOut {
  readonly findings: Finding[]
  readonly refused?: Refused
}

async function tryOut(
  { issue, exchange, step, rules }: Rehearsal,
  { onBehalfOf }: Example,
  naming = true,
): Promise<TriedOut> {
  const findings: Finding[] = []
  let stage = 'issuance'
  try {
    const subjectToken = await issue(naming)
    stage = 'exchange'
    const exchanged = await exchange(subjectToken)
    findings.push(allowed('', exchanged))
    stage = 'stage onBehalfOf'
    if (rules && onBehalfOf)
      findings.push(allowed('onBehalfOf: ', await step(exchanged, { to: onBehalfOf, rules })))
    else if (rules)
      findings.push(note(ABOUT, `the ${stage} was not tried: the example has no member onBehalfOf`))
    else if (onBehalfOf)
      findings.push(
        fault(
          ABOUT,
          'onBehalfOf is off: an API can exchange nothing',
          'set onBehalfOf, or remove it from the example',
        ),
      )
    return { findings }
  } catch (error) {
    return { findings, refused: refusedAt(stage, error) }
  }
}

function allowed(start: string, { claims }: { readonly claims: JsonObject }): Finding {
  const own = Object.entries(claims).filter(([name]) => !RESERVED_CLAIMS.has(name))
  const shown = JSON.stringify(Object.fromEntries(own))
  return ok(ABOUT, `${start}isAllowed allows it, and your functions return the claims ${shown}`)
}
