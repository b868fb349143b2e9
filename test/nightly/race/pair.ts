/** One token, and two calls that meet. */
import { ISSUER } from '../../../fixtures/cluster.ts'
import type { Answer, Racers, Racing } from '../../../fixtures/racers.ts'
import { NOW, newToken, newUse } from '../../../fixtures/subject-tokens.ts'
import type { SubjectTokenStore } from '../../../src/tokens/store.ts'
import type { ActingParty, NewSubjectToken, SubjectToken } from '../../../src/tokens/subject-token.ts'

type Doing = 'use' | 'revoke' | 'userId' | 'actorId' | 'createdBy'

export interface Kind {
  readonly name: string
  readonly one: Doing
  readonly other: Doing
  /** When a third exchange spends the token: before both, or when the one has found it unspent. */
  readonly spent?: 'before' | 'between'
}

export const KINDS: readonly Kind[] = [
  { name: 'exchange × exchange', one: 'use', other: 'use' },
  { name: 'exchange × revocation', one: 'use', other: 'revoke' },
  { name: 'exchange × kill switch of the user', one: 'use', other: 'userId' },
  { name: 'exchange × kill switch of the actor', one: 'use', other: 'actorId' },
  { name: 'exchange × kill switch of the backend', one: 'use', other: 'createdBy' },
  { name: 'exchange × replay', one: 'use', other: 'use', spent: 'between' },
  { name: 'revocation × revocation', one: 'revoke', other: 'revoke' },
  { name: 'revocation × revocation after the exchange', one: 'revoke', other: 'revoke', spent: 'before' },
  { name: 'replay × revocation', one: 'use', other: 'revoke', spent: 'before' },
]

/** What the tokens of a kind differ in. */
export interface Form {
  readonly format: 'jwt' | 'opaque'
  readonly isChain: boolean
}

export const FORMS: readonly Form[] = (['jwt', 'opaque'] as const).flatMap((format) =>
  [false, true].map((isChain) => ({ format, isChain })),
)

export function winnerOf({ spent }: Kind, [one]: readonly Answer[], found: SubjectToken): 'one' | 'other' {
  const first = spent === 'between' ? found.replay?.clientId : undefined
  const stopped = found.revocation?.cause === 'replay' ? found.replay?.clientId : found.revocation?.client
  const winner = first ?? (spent ? stopped : (found.use?.clientId ?? stopped))
  return winner === one?.client ? 'one' : 'other'
}

/** One token, and what happens to it. */
export class Pair {
  readonly #store: SubjectTokenStore
  readonly #kind: Kind
  readonly #form: Form
  readonly #token: NewSubjectToken
  #earlier = false

  constructor(store: SubjectTokenStore, kind: Kind, form: Form) {
    this.#store = store
    this.#kind = kind
    this.#form = form
    const token = newToken({ expiresAt: NOW + 86_000 })
    const { id } = token
    this.#token = { ...token, userId: `user ${id}`, actorId: `newest ${id}`, createdBy: `backend ${id}` }
  }

  async race(racers: Racers, delays: readonly [number, number]) {
    const { one, other, spent } = this.#kind
    await this.#store.insert(this.#token)
    const spend = async () => {
      this.#earlier = await this.#spendAs('earlier')
    }
    if (spent === 'before') await spend()
    const way = { delays, ...(spent === 'between' && { between: spend }) }
    const meeting = await racers.meet(this.#racing(one, 'one'), this.#racing(other, 'other'), way)
    return { met: meeting.met, answers: [meeting.one, meeting.other] as [Answer, Answer] }
  }

  /** A last exchange comes with what it found long ago. Then the record is read. */
  async aftermath(answers: [Answer, Answer]) {
    const won = await this.#spendAs('late')
    const found = await this.#store.find(ISSUER, this.#token.id)
    if (!found) throw new Error('a record is gone')
    const spends = [
      { client: 'earlier', began: 0, won: this.#earlier },
      { client: 'late', began: Number.POSITIVE_INFINITY, won },
    ]
    return { answers, spends, found, links: await this.#links() }
  }

  #spendAs(client: string): Promise<boolean> {
    const { format } = this.#form
    const accessToken = { format, expiresAt: NOW + 86_000 }
    const grant = format === 'opaque' ? { grantId: `grant of ${client} ${this.#token.id}` } : {}
    return this.#store.consume(
      this.#token,
      NOW,
      newUse({ clientId: client, accessToken, actor: this.#actor(client), ...grant }),
    )
  }

  #racing(doing: Doing, client: string): Racing {
    const { id } = this.#token
    if (doing === 'use')
      return { kind: 'use', id, client, format: this.#form.format, actor: this.#actor(client) }
    if (doing === 'revoke') return { kind: 'revoke', id, client }
    const filters = {
      userId: { userId: this.#token.userId },
      actorId: { actorId: `newest ${id}` },
      createdBy: { createdBy: this.#token.createdBy },
    }
    return { kind: 'kill', id, client, filter: filters[doing] }
  }

  /** Each call has links of its own behind the newest, which the token requires. */
  #actor(client: string): ActingParty {
    const [newest, ...further] = [`newest ${this.#token.id}`, ...this.#further(client)]
    const [middle, oldest] = further
    if (middle === undefined || oldest === undefined) return { sub: newest }
    return { sub: newest, act: { sub: middle, act: { sub: oldest } } }
  }

  #further(client: string): string[] {
    const { id } = this.#token
    return this.#form.isChain ? [`middle of ${client} ${id}`, `oldest of ${client} ${id}`] : []
  }

  #links() {
    const { one, other, spent } = this.#kind
    const clients = [
      ...(one === 'use' ? ['one'] : []),
      ...(other === 'use' ? ['other'] : []),
      ...(spent ? ['earlier'] : []),
    ]
    const links = clients.flatMap((client) => this.#further(client).map((name) => ({ client, name })))
    return Promise.all(
      links.map(async ({ client, name }) => {
        const page = await this.#store.list(ISSUER, { actorId: [name] }, { limit: 2, now: NOW })
        return { client, isFound: page.tokens.some(({ id }) => id === this.#token.id) }
      }),
    )
  }
}
