package webtransport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"time"
)

// certificateLife is less than the 14 days that browsers allow for a pinned certificate.
const certificateLife = 10 * 24 * time.Hour

// NewCertificate makes a self-signed certificate for host names or IP addresses. It is valid from one hour ago for ten days. Pass
// hash to serverCertificateHashes in a page, or to Pin in a native client.
func NewCertificate(now time.Time, hosts ...string) (certificate tls.Certificate, hash [sha256.Size]byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate, hash, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return certificate, hash, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "arche-netcode"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return certificate, hash, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, sha256.Sum256(der), nil
}

// ErrOtherCertificate means that the server's certificate is not the pinned one.
var ErrOtherCertificate = errors.New("webtransport: the server has another certificate than the pinned one")

// Pin returns the TLS configuration of a client that trusts only the certificate with this SHA-256 hash.
func Pin(hash [sha256.Size]byte) *tls.Config {
	return &tls.Config{
		InsecureSkipVerify: true, // VerifyConnection checks the hash instead of a chain.
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || sha256.Sum256(state.PeerCertificates[0].Raw) != hash {
				return ErrOtherCertificate
			}
			return nil
		},
	}
}
