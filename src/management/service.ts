import type { Account, Provider } from 'oidc-provider'
import type { Policy } from '../callbacks/policy.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'

/** What the functions of this room work with. They know no HTTP: the router is one caller of them among others. */
export interface ManagementService {
  /** Names the issuer, emits the events, and ends access tokens. */
  readonly provider: Provider
  readonly store: SubjectTokenStore
  readonly options: Policy
}

/** Who asks, and what the functions need of the request that asks. */
export interface Caller {
  /** `createdBy` of what it issues, `client` of what it revokes. */
  readonly clientId: string
  /** The account that the deployment knows by this name. */
  findAccount(name: string): Promise<Account | undefined>
  /** Tells the operator of a failure that does not fail the request. */
  report(error: unknown): void
}
