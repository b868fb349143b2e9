import type { Provider } from 'oidc-provider'
import type { SubjectTokenExchanged, SubjectTokenRefused } from '../../events.ts'
import type { CustomClaimsRequest, ResolvedOptions } from '../../options.ts'
import type { AccessTokenDraft } from '../../provider/access-token.ts'
import type { GrantContext, SenderConstraint } from '../../provider/grants.ts'
import type { SubjectTokenStore } from '../../subject-tokens/store.ts'
import type { Actor } from '../actor.ts'
import type { ExchangeRequest } from '../request.ts'
import type { ExchangeService } from '../service.ts'
import type { Subject } from '../subject.ts'
import type { Limits, Target } from '../target.ts'

/** What the events of every kind tell. */
export type ToldExchanged = Omit<SubjectTokenExchanged, 'id' | 'createdBy'>
export type ToldRefused = Omit<SubjectTokenRefused, 'stage'>

/** What a kind of subject token adds to the stages of an exchange, in their order. */
export interface Kind<Found extends Subject> {
  /** The rules for parameters and for clients that hold for this kind only. Nothing has been looked up. */
  assertAdmitted(ctx: GrantContext, options: ResolvedOptions, request: ExchangeRequest): void

  /** The token and its user. */
  findSubject(
    ctx: GrantContext,
    service: ExchangeService,
    request: ExchangeRequest & { readonly sender: SenderConstraint },
  ): Promise<Found>

  /** The person who acts, if there is one. */
  findActor(
    ctx: GrantContext,
    service: ExchangeService,
    request: ExchangeRequest & { readonly sender: SenderConstraint; readonly subject: Found },
  ): Promise<Actor | undefined>

  /** Which resources and scopes the token reaches. */
  limitsOf(
    ctx: GrantContext,
    options: ResolvedOptions,
    reached: { readonly subject: Found; readonly actor?: Actor },
  ): Limits

  /** Asks the policy about what will be granted. */
  assertAllowed(
    ctx: GrantContext,
    options: ResolvedOptions,
    exchange: { readonly subject: Found; readonly actor?: Actor; readonly target: Target },
  ): Promise<void>

  /** What the claims function learns of the token. */
  grantOf(subject: Found): CustomClaimsRequest['context']['grant']

  /** The last point of refusal; what must be written is written here. */
  commit(
    ctx: GrantContext,
    store: Pick<SubjectTokenStore, 'consume' | 'findByHash'>,
    exchange: {
      readonly sender: SenderConstraint
      readonly subject: Found
      readonly actor?: Actor
      readonly target: Target
      readonly draft: AccessTokenDraft
    },
  ): Promise<void>

  emitExchanged(provider: Provider, told: ToldExchanged, subject: Found): void

  /** `subject` is absent if the request did not get that far. */
  emitRefused(provider: Provider, told: ToldRefused, subject: Found | undefined): void
}
